package packet

// ParseAny is Parse without its short cut for plain frames: the twin that the
// short cut is compared with.
var ParseAny = parseAny

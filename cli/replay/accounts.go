package replay

import "io"

// WriteHuman prints the summary as `replay` does. assumed says which side was
// taken as local.
func (s *Summary) WriteHuman(w io.Writer, assumed string) error { return writeHuman(w, s, assumed) }

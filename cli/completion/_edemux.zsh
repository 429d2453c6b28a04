#compdef edemux
# zsh completion of edemux: edemux completion zsh > "${fpath[1]}/_edemux"
_edemux() {
	local -a list
	local line files='' word
	line="${(j: :)words[1,CURRENT-1]} $PREFIX"
	for word in "${(@f)$("$words[1]" completion words --help-text --line "$line" 2>/dev/null)}"; do
		if [[ $word == :files ]]; then files=yes; elif [[ -n $word ]]; then list+=("$word"); fi
	done
	(( $#list )) && _describe edemux list
	[[ -n $files ]] && _files
}
if [[ $funcstack[1] == _edemux ]]; then
	_edemux "$@"
else
	compdef _edemux edemux
fi

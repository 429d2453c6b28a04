# bash completion of edemux: source <(edemux completion bash)
_edemux() {
	local files='' word
	COMPREPLY=()
	while IFS= read -r word; do
		if [ "$word" = :files ]; then files=yes; else COMPREPLY+=("$word"); fi
	done < <("$1" completion words --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2>/dev/null)
	if [ -n "$files" ]; then
		compopt -o filenames 2>/dev/null
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$2")
	fi
}
complete -F _edemux edemux

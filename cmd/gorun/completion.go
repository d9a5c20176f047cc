package main

import (
	"fmt"
	"slices"
	"strings"
)

// completion returns a script for bash that completes command lines of gorun. The script completes flags and the
// name of the program. It completes the value of a flag if the value is one of a few words, a host, a command, a
// file or a directory. It completes the arguments of the program as file names.
func completion() string {
	names, valued := make([]string, 0, 2*len(flags)), make([]string, 0, 2*len(flags))
	var values strings.Builder
	for _, f := range flags {
		dashed := make([]string, 0, len(f.names))
		for _, n := range f.names {
			dashed = append(dashed, "-"+n)
			if f.value != "" && !f.optional() {
				valued = append(valued, "-"+n, "--"+n)
			}
		}
		names = append(names, dashed...)
		if how := valueCompletion(f); how != "" {
			fmt.Fprintf(&values, "    %s) COMPREPLY=($(compgen %s -- \"$cur\")) ;;\n", strings.Join(dashed, "|"), how)
		}
	}
	slices.Sort(names)
	return fmt.Sprintf(completionScript, strings.Join(valued, "|flags,"), values.String(), strings.Join(names, " "))
}

// valueCompletion returns the options of compgen (bash(1)) that complete the value of a flag. It returns "" if the
// value is not completed.
func valueCompletion(f flag) string {
	switch {
	case f.value == "DIR":
		return "-d"
	case f.value == "F" || strings.HasPrefix(f.value, "F."):
		return "-f"
	case strings.HasPrefix(f.value, "H:"):
		return "-A hostname"
	case f.value == "CMD":
		return "-c"
	case f.value == strings.ToUpper(f.value):
		return ""
	}
	var words []string
	for _, word := range f.choices() {
		if word, _, _ = strings.Cut(word, "["); word == strings.ToLower(word) {
			words = append(words, word)
		}
	}
	return "-W '" + strings.Join(words, " ") + "'"
}

// completionScript is a format with three operands: the flags whose value is a separate word, the completions of
// these values, and all flags. The script itself splits the line at blanks. It does not use the words into which
// bash splits the line, because bash also splits at : and =.
const completionScript = `# Completion of gorun in bash: source <(gorun -completion bash)
_gorun() {
  local line=${COMP_LINE:0:COMP_POINT} cur= flag= at=flags words i
  read -ra words <<<"$line"
  case $line in
  *[[:blank:]]) ;;
  *) cur=${words[-1]} && unset 'words[-1]' ;;
  esac
  for ((i = 1; i < ${#words[@]}; i++)); do
    case $at,${words[i]} in
    value,*) at=flags ;;
    program,:) at=flags ;;
    program,* | last,*) ;;
    command,*) at=last ;;
    flags,--) at=command ;;
    flags,%s) at=value flag=${words[i]} ;;
    flags,-?*) ;;
    *) at=program ;;
    esac
  done
  COMPREPLY=()
  case $at,$cur in
  flags,-*=*) flag=${cur%%%%=*} cur=${cur#*=} at=value ;;
  esac
  case $at,$cur in
  value,*)
    case ${flag/#--/-} in
%s    esac ;;
  flags,--*) COMPREPLY=($(compgen -P - -W '%[3]s' -- "${cur#-}")) ;;
  flags,-*) COMPREPLY=($(compgen -W '%[3]s' -- "$cur")) ;;
  flags,*/* | command,*/*) COMPREPLY=($(compgen -f -- "$cur")) ;;
  flags,* | command,*) COMPREPLY=($(compgen -c -- "$cur") $(compgen -d -- "$cur")) ;;
  esac
}
complete -o default -F _gorun gorun
`

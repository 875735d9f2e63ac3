# SPDX-License-Identifier: Apache-2.0
# Completes the arguments of zklock in bash. The words come from the help texts of zklock itself.

# Prints the help of zklock, or of the command $1 of zklock.
_zklock_help() {
  "$_zklock_program" ${1:+"$1"} --help 2>/dev/null
}

# Reads a help text. Prints the names of all options, or of those that have a value.
_zklock_options() {
  sed -nE 's/^  (-[^ ]+)( .*)?$/\1/p' | tr ',' '\n'
}
_zklock_options_with_value() {
  grep -E '^  -[^ ]+ [A-Z0-9/.]+( |:|$)' | _zklock_options
}

# Sets COMPREPLY to the words of the lines $1 that begin with the current word.
_zklock_reply() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_zklock() {
  local _zklock_program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]}
  local previous=${COMP_WORDS[COMP_CWORD - 1]}
  local global command='' path='' i
  global=$(_zklock_help)
  local help=$global with_value
  with_value=" $(_zklock_options_with_value <<<"$help" | tr '\n' ' ')"
  # Finds the command and its path among the words before the current one.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) ;;
      -*) if [[ $with_value == *" ${COMP_WORDS[i]} "* ]]; then i=$((i + 1)); fi ;;
      *)
        if [[ -z $command ]]; then
          command=${COMP_WORDS[i]}
          help=$(_zklock_help "$command")
          with_value+="$(_zklock_options_with_value <<<"$help" | tr '\n' ' ')"
        elif [[ -z $path ]]; then
          path=$i
        fi
        ;;
    esac
  done

  if [[ -n $path && $help == *"[COMMAND...]"* ]]; then
    # The rest is a command line of its own.
    if [[ ${COMP_WORDS[path + 1]} == -- && path+1 -lt COMP_CWORD ]]; then path=$((path + 1)); fi
    if declare -F _command_offset >/dev/null; then
      _command_offset $((path + 1))
    else
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
  elif [[ $with_value == *" $previous "* ]]; then
    compopt -o default
  elif [[ $current == -* ]]; then
    _zklock_reply "$(_zklock_options <<<"$help")"
  elif [[ -z $command ]]; then
    _zklock_reply "$(sed -nE '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p' <<<"$global")"
  fi
}
complete -F _zklock zklock

"""`phalanx completion`: the script that makes a shell complete phalanx's commands and options."""

from typing import Literal

from cyclopts import App

_BASH = r"""# source <(phalanx completion bash)
_phalanx() {
    local IFS=$'\n'
    COMPREPLY=($(phalanx __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _phalanx phalanx
"""
_ZSH = r"""#compdef phalanx
# source <(phalanx completion zsh), after compinit
_phalanx() {
    local -a found
    found=("${(@f)$(phalanx __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=(${found:#})
    if (( $#found )); then
        found=("${(@)found//:/\\:}")
        found=("${(@)found/$'\t'/:}")
        _describe phalanx found
    else
        _files
    fi
}
if [ "$funcstack[1]" = _phalanx ]; then _phalanx; else compdef _phalanx phalanx; fi
"""
_FISH = r"""# phalanx completion fish | source
function __phalanx_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (phalanx __complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c phalanx -e
complete -c phalanx -f -a '(__phalanx_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def register(app: App) -> None:
    """Add the command."""
    app.command(completion)


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script by which a shell completes commands, options and their values.

    bash: source <(phalanx completion bash). zsh: source <(phalanx completion zsh), after compinit. fish: phalanx
    completion fish | source. For kubectl phalanx, kubectl's own completion is enough.

    Parameters
    ----------
    shell
        The shell that you use.
    """
    print(_SCRIPTS[shell], end="")

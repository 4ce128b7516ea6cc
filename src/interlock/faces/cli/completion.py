"""`ralph completion`: scripts for bash, zsh and fish, made from the nouns and verbs themselves."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from interlock.faces.cli.command import CommandCall, Parser, Verb
from interlock.faces.cli.output import clean

__all__ = ["VERBS"]

_BASH = """\
_ralph() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words="" one
  local -a before=()
  for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do [[ $one == -* ]] || before+=("$one"); done
  case "${{before[0]:-}} ${{before[1]:-}}" in
{cases}
  esac
  case "${{#before[@]}}" in
    0) words="{nouns} --json --help --version" ;;
    1) case "${{before[0]}}" in
{verbs}
       esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _ralph ralph
"""

_ZSH = """\
#compdef ralph
autoload -U +X bashcompinit && bashcompinit
{bash}"""

_FISH = """\
complete -c ralph -f
complete -c ralph -l json -d 'one envelope on stdout'
{lines}
"""


_TICKETS = "tickets"
"""What the scripts ask for: the numbers of the open tickets."""
_ASKED = f"$(ralph completion {_TICKETS} 2>/dev/null)"
_MOST = 200


def _completion(call: CommandCall) -> None:
    if call.arguments.shell == _TICKETS:
        _list_tickets(call)
        return
    scripts = {"bash": _bash, "zsh": lambda: _ZSH.format(bash=_bash()), "fish": _fish}
    script = scripts[call.arguments.shell]()
    data = {"shell": call.arguments.shell, "script": script}
    call.output.result(data, lambda: call.output.text(script))


def _list_tickets(call: CommandCall) -> None:
    """Print the numbers of the open tickets, with their titles behind a tab; fish shows those."""
    from interlock.faces.cli.place import opened
    from interlock.work.tickets.queries import Filters, listed

    with opened(call, warns=False) as journal:
        found = listed(journal, Filters(most=_MOST)) if journal is not None else []
    lines = [f"{one.number}\t{one.title}" if call.arguments.titles else str(one.number) for one in found]
    call.output.result([one.number for one in found], lambda: call.output.text("\n".join(map(clean, lines))))


def _takes_ticket(verb: Verb) -> bool:
    parser = Parser("ralph")
    verb.arguments(parser)
    return any(one.dest == "ticket" and not one.option_strings for one in parser._actions)


def _words() -> dict[tuple[str, str], list[str]]:
    """For each noun and verb, the words that can follow."""
    from interlock.faces.cli.main import NOUNS, verbs_of
    from interlock.machine import SHIPPED

    found: dict[tuple[str, str], list[str]] = {}
    for noun in NOUNS:
        for verb in verbs_of(noun).values():
            parser = Parser("ralph")
            verb.arguments(parser)
            actions = parser._actions  # argparse has no other way to ask
            shown = [action for action in actions if action.help != SUPPRESS]
            words = [option for action in shown for option in action.option_strings if option.startswith("--")]
            words += [str(choice) for action in actions for choice in action.choices or ()]
            words += [_ASKED] if _takes_ticket(verb) else ()
            words += SHIPPED if any(action.dest == "machine" for action in actions) else ()
            found[noun, verb.name] = words
    return found


def _bash() -> str:
    words = _words()
    nouns = list(dict.fromkeys(noun for noun, _ in words))
    cases = [
        f'    "{noun} {verb or "*"}"{"*" if not verb else ""}) words="{" ".join(them)}" ;;'
        for (noun, verb), them in words.items()
    ]
    cases = [case.replace('*"*)', '"*)') for case in cases]
    verbs = [
        f'         {noun}) words="{" ".join(verb for other, verb in words if other == noun and verb)}" ;;'
        for noun in nouns
        if (noun, "") not in words
    ]
    return _BASH.format(cases="\n".join(cases), nouns=" ".join(nouns), verbs="\n".join(verbs))


def _fish() -> str:
    from interlock.faces.cli.main import NOUNS, verbs_of

    lines = [f"complete -c ralph -n __fish_use_subcommand -a {noun} -d '{text}'" for noun, text in NOUNS.items()]
    for (noun, verb), words in _words().items():
        if verb:
            seen = f"__fish_seen_subcommand_from {noun}; and not __fish_seen_subcommand_from {' '.join(verbs_of(noun))}"
            lines.append(f"complete -c ralph -n '{seen}' -a {verb} -d '{verbs_of(noun)[verb].help}'")
        where = f"__fish_seen_subcommand_from {noun}" + (f"; and __fish_seen_subcommand_from {verb}" if verb else "")
        plain = " ".join(word for word in words if word != _ASKED)
        lines.append(f"complete -c ralph -n '{where}' -a '{plain}'")
        if _ASKED in words:
            lines.append(f"complete -c ralph -n '{where}' -a '(ralph completion {_TICKETS} --titles 2>/dev/null)'")
    return _FISH.format(lines="\n".join(lines))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", _TICKETS), metavar="{bash,zsh,fish}", help="which shell"
    )
    parser.add_argument("--titles", action="store_true", help=SUPPRESS)


VERBS = (Verb("", "print a script that completes ralph's words in your shell", _completion, _arguments),)

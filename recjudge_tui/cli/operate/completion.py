"""`recjudge completion`."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
# the variable by which click's scripts ask the program for completions
COMPLETION_VARIABLE = "_RECJUDGE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell. It completes commands, options and names.

    It completes projects, raters, systems, prompts and runs from the database that the command line names.

    \b
    Example:
      recjudge completion bash >> ~/.bashrc
      recjudge completion zsh >> ~/.zshrc
      recjudge completion fish > ~/.config/fish/completions/recjudge.fish
    """
    from click.shell_completion import get_completion_class

    from recjudge_tui.cli.app import recjudge

    chosen = get_completion_class(shell)
    assert chosen is not None
    click.echo(chosen(recjudge, {}, "recjudge", COMPLETION_VARIABLE).source())

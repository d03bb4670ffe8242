"""`python -m clinfer` and the console script: the command line, interrupted in one line from its first import on."""
from __future__ import annotations

import signal
import sys

_INTERRUPTED = 130
_NEEDED = ("rich", "typer")


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line on standard error and exit status 130."""
    try:
        from clinfer.cli.main import main as run_command

        run_command()
    except ModuleNotFoundError as missing:
        if missing.name not in _NEEDED:
            raise
        print(f"clinfer: the command line needs packages that are not installed\n  missing: {missing.name}\n"
              "  try: pip install clinfer[cli]", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        _end_interrupted()
    except SystemExit as end:
        # What Typer makes of Ctrl-C, without a word.
        if end.code == _INTERRUPTED:
            _end_interrupted()
        raise


def _end_interrupted() -> None:
    # A second Ctrl-C ends the process at once, whatever still winds up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A terminal has shown ^C on this line.
    print("\n" * sys.stderr.isatty() + "clinfer: interrupted", file=sys.stderr)
    raise SystemExit(_INTERRUPTED) from None


if __name__ == "__main__":
    main()

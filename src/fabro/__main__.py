"""`python -m fabro` is the command `fabro`. Above: nothing. Below: the CLI."""

from fabro.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m lengthwise`."""

from __future__ import annotations

from lengthwise.cli import main

if __name__ == "__main__":
    main()

"""Formats of dates and times in the portal: unambiguous, and short enough for a column."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"

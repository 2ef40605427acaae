"""Day before month and 24 hours: unambiguous, and short enough for a column."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"

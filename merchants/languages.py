"""The checkout's languages."""

# Each language's tag and its name in the language itself, in the order of the checkout's language switch.
LANGUAGES = {
    "en": "English",
    "es": "Español",
    "pt-BR": "Português (Brasil)",
    "fr": "Français",
    "de": "Deutsch",
    "it": "Italiano",
    "tr": "Türkçe",
    "ru": "Русский",
    "ja": "日本語",
    "ko": "한국어",
    "zh-Hans": "简体中文",
    "ar": "العربية",
}
ENGLISH = "en"
_BY_LOWER_CASE = {tag.lower(): tag for tag in LANGUAGES}
# Tags that browsers send and that LANGUAGES doesn't have, with the language that the checkout shows instead.
_ALSO = {"pt": "pt-BR", "zh": "zh-Hans", "zh-cn": "zh-Hans", "zh-sg": "zh-Hans"}


def closest_language(tag: str) -> str | None:
    """Return the best language for `tag`, such as "de" for "de-AT".

    Tags of Traditional Chinese don't match Simplified Chinese.
    """
    prefix = tag.lower()
    while prefix:
        match = _BY_LOWER_CASE.get(prefix) or _ALSO.get(prefix)
        if match:
            return match
        if prefix.startswith("zh-") and not prefix.startswith("zh-hans"):
            return None
        prefix = prefix.rpartition("-")[0]
    return None

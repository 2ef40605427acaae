"""Paginated lists."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Generic, Protocol, TypeVar

from quittance.errors import APIError


class HasId(Protocol):
    """An object in a list."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=HasId)
Fetch = Callable[[Mapping[str, Any]], Any]


class Page(Generic[T]):
    """A page of a list, newest first.

    Iterate over it to get its objects. `auto_paging_iter()` also loads the next pages. `has_more`: whether there are
    more objects in the requested direction.
    """

    def __init__(self, fetch: Fetch, query: Mapping[str, Any], build: Callable[[Any], T]) -> None:
        answer = fetch(query)
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
            raise APIError("The response is not a list. Check base_url.")
        self._fetch, self._query, self._build = fetch, query, build
        self.url: str = answer.get("url", "")
        self.has_more: bool = answer.get("has_more", False)
        self.data: list[T] = [build(each) for each in answer["data"]]

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<Page of {len(self.data)} from {self.url}{', and more' if self.has_more else ''}>"

    def next_page(self) -> "Page[T] | None":
        """Return the next page in the same direction, or None after the last page."""
        if not self.has_more or not self.data:
            return None
        up = self._goes_back_up
        edge = {"ending_before": self.data[0].id} if up else {"starting_after": self.data[-1].id}
        return Page(self._fetch, {**self._query, **edge}, self._build)

    def auto_paging_iter(self) -> Iterator[T]:
        """Yield the objects of this page and of all following pages. Pages are loaded when they are needed.

        With `ending_before`, the oldest object comes first, and the newest last.
        """
        page: Page[T] | None = self
        while page is not None:
            yield from reversed(page.data) if self._goes_back_up else page.data
            page = page.next_page()

    @property
    def _goes_back_up(self) -> bool:
        return "ending_before" in self._query


def query_of(**filters: Any) -> dict[str, Any]:
    """Return the filters that are set, as query parameters."""
    return {name: _written(name, value) for name, value in filters.items() if value is not None}


def _written(name: str, value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else time_text(name, value)


def time_text(name: str, value: Any) -> Any:
    """Return a datetime as text in UTC.

    Return any other value unchanged. Raises ValueError for a datetime without a time zone.
    """
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(f"{name} should say its time zone, such as datetime.now(timezone.utc).")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")

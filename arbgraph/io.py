"""Reading queries and claim pairs from JSON, JSON Lines, gzip or standard input, and writing results whole or not at all.

A bad record is a value (`BadRecord`), so that one broken line does not hide the other 499.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from arbgraph.schema import Claim, Document, Mention, Query, content_id

EXAMPLE = '{"query": "When did it open?", "documents": [{"title": "The bridge", "text": "The bridge opened in 1932."}]}'


class InputError(ValueError):
    """Input that cannot be used at all; the message says what, where and what to do."""


@dataclass(frozen=True)
class BadRecord:
    """A record that was refused: where it stands, and why."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def read_records(source: str | Path) -> Iterator[tuple[str, Any]]:
    """Yields (where, value) of every record in a `.json`, `.jsonl` or gzipped file, or of standard input (`-`).

    A value is the parsed JSON, or a BadRecord for a line that is not JSON. A `.json` file holds one record or a list of them.
    Raises InputError for a file that is missing, unreadable, empty, or not JSON as a whole.
    """
    name = "<stdin>" if str(source) == "-" else str(source)
    raw = _read_bytes(source, name)
    if not raw.strip():
        raise InputError(f"{name}: is empty; a record looks like {EXAMPLE}")
    suffixes = [suffix for suffix in Path(name).suffixes if suffix != ".gz"]
    if suffixes and suffixes[-1] == ".json":
        yield from _whole_json(raw, name)
    elif (suffixes and suffixes[-1] == ".jsonl") or (b"\n" in raw.strip() and _is_json(raw.split(b"\n", 1)[0])):
        yield from _json_lines(raw, name)
    else:
        yield from _whole_json(raw, name)


def _read_bytes(source: str | Path, name: str) -> bytes:
    try:
        raw = sys.stdin.buffer.read() if str(source) == "-" else Path(source).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name}: damaged gzip data: {error}") from error
    elif name.endswith(".gz"):
        raise InputError(f"{name}: is named .gz but holds no gzip data")
    return raw


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _whole_json(raw: bytes, name: str) -> Iterator[tuple[str, Any]]:
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}: line {line}: not UTF-8 (byte {error.start} of the file); save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}: line {error.lineno}, column {error.colno}: broken JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{name}: JSON nested too deeply") from None
    if not isinstance(value, list):
        yield name, value
        return
    for number, record in enumerate(value, 1):
        yield f"{name}: record {number}", record


def _json_lines(raw: bytes, name: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        where = f"{name}: line {number}"
        if not line.strip():
            continue
        try:
            yield where, json.loads(line.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            yield where, BadRecord(where, f"not UTF-8 (byte {error.start} of the line); save the file as UTF-8")
        except json.JSONDecodeError as error:
            yield where, BadRecord(where, f"broken JSON at column {error.colno}: {error.msg}")
        except RecursionError:
            yield where, BadRecord(where, "JSON nested too deeply")


def read_queries(source: str | Path, *, max_document_chars: int | None = None) -> Iterator[Query | BadRecord]:
    """Yields a Query or a BadRecord for every record; see `parse_query`. Raises InputError as `read_records` does.

    A document longer than `max_document_chars` makes its record bad: it would hold up the batch for many minutes.
    """
    seen: dict[str, str] = {}
    for where, record in read_records(source):
        item = record if isinstance(record, BadRecord) else parse_query(record, where)
        if isinstance(item, Query):
            item = _refuse_long_documents(item, where, max_document_chars)
        if isinstance(item, Query) and seen.setdefault(item.id, where) != where:
            item = BadRecord(where, f"id {item.id!r} was already used in {seen[item.id]}; give every query its own id")
        yield item


def _refuse_long_documents(query: Query, where: str, limit: int | None) -> Query | BadRecord:
    for number, document in enumerate(query.documents):
        if limit is not None and len(document.text) > limit:
            return BadRecord(
                where,
                f"documents[{number}] (id {document.id!r}) has {len(document.text):,} characters, "
                f"more than max_document_chars = {limit:,}; split it into passages, or raise the setting",
            )
    return query


def parse_query(record: Any, where: str) -> Query | BadRecord:
    """A Query from `{"id"?, "query" | "question", "documents": [...], "claims"?: [...]}`; other keys are ignored.

    Without an id, the id is the hash of the query and its documents. Documents that are equal in every field and have no id
    keep their copies apart by a suffix.
    """
    try:
        if not isinstance(record, dict):
            return BadRecord(where, f"expected an object, found {type(record).__name__}; a record looks like {EXAMPLE}")
        text = record.get("query", record.get("question"))
        if not isinstance(text, str) or not text.strip():
            return BadRecord(where, f'"query" (or "question") is missing or empty; a record looks like {EXAMPLE}')
        if not isinstance(record.get("documents"), list):
            return BadRecord(where, f'"documents" is missing or not a list; a record looks like {EXAMPLE}')
        documents = _parse_documents(record["documents"])
        claims = _parse_claims(record["claims"], documents) if record.get("claims") is not None else None
        identifier = record.get("id")
        if identifier is None or identifier == "":
            identifier = content_id("query", text, *sorted(document.id for document in documents), *sorted(c.id for c in claims or ()))
        return Query(id=str(identifier), query=text.strip(), documents=tuple(documents), claims=claims)
    except _FieldError as error:
        return BadRecord(where, str(error))


class _FieldError(ValueError):
    """A field of a record that was refused."""


def _first_error(error: ValidationError, place: str) -> _FieldError:
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    found = "" if first["type"] in ("missing", "value_error") else f", found {str(first['input'])[:60]!r}"
    return _FieldError(f"{place}{'.' + path if path else ''}: {first['msg'].removeprefix('Value error, ')}{found}")


def _parse_documents(records: list[Any]) -> list[Document]:
    documents: list[Document] = []
    unnamed: Counter[str] = Counter()
    for number, record in enumerate(records):
        place = f"documents[{number}]"
        if not isinstance(record, dict):
            raise _FieldError(f"{place}: expected an object with a text, found {type(record).__name__}")
        known = {key: record[key] for key in Document.model_fields if key in record}
        try:
            document = Document.model_validate(known)
        except ValidationError as error:
            raise _first_error(error, place) from None
        if record.get("id") in (None, ""):
            unnamed[document.id] += 1
            if unnamed[document.id] > 1:
                document = document.model_copy(update={"id": f"{document.id}-{unnamed[document.id]}"})
        documents.append(document)
    _refuse_repeats([document.id for document in documents], "documents")
    return documents


def _parse_claims(records: Any, documents: list[Document]) -> tuple[Claim, ...]:
    if not isinstance(records, list):
        raise _FieldError(f"claims: expected a list, found {type(records).__name__}")
    known = {document.id for document in documents}
    claims = []
    for number, record in enumerate(records):
        place = f"claims[{number}]"
        if not isinstance(record, dict) or not isinstance(record.get("text"), str) or not record["text"].strip():
            raise _FieldError(f'{place}: expected an object with a non-empty "text"')
        ids = record.get("document_ids", [])
        if not isinstance(ids, list):
            raise _FieldError(f"{place}.document_ids: expected a list, found {type(ids).__name__}")
        missing = sorted({str(i) for i in ids} - known)
        if missing:
            raise _FieldError(f"{place}.document_ids: no document has the id {missing[0]!r}")
        # The claim came without offsets: an empty quote at 0 says only which document states it.
        mentions = tuple(Mention(document_id=i, start=0, end=0) for i in sorted({str(i) for i in ids}))
        text = " ".join(record["text"].split())
        identifier = record.get("id")
        claims.append(Claim.of(text, mentions) if identifier in (None, "") else Claim(id=str(identifier), text=text, mentions=mentions))
    _refuse_repeats([claim.id for claim in claims], "claims")
    return tuple(claims)


def _refuse_repeats(ids: list[str], what: str) -> None:
    for identifier, count in Counter(ids).items():
        if count > 1:
            raise _FieldError(f"{what}: the id {identifier!r} is used {count} times; ids must differ")


def read_pairs(source: str | Path) -> Iterator[tuple[dict[str, Any], tuple[str, str]] | BadRecord]:
    """Yields (row, (claim_a, claim_b)) or a BadRecord for rows with `claim_a, claim_b` or `premise, hypothesis`."""
    for where, record in read_records(source):
        if isinstance(record, BadRecord):
            yield record
            continue
        names = ("claim_a", "claim_b") if isinstance(record, dict) and "claim_a" in record else ("premise", "hypothesis")
        texts = [record.get(name) if isinstance(record, dict) else None for name in names]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            yield BadRecord(where, 'expected {"claim_a", "claim_b"} or {"premise", "hypothesis"} with two non-empty texts')
            continue
        yield record, (str(texts[0]), str(texts[1]))


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[str]]:
    """A text file (gzipped when named .gz) that appears under its name only when everything was written. Raises InputError."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_text(partial, "w", compressed=target.suffix == ".gz") as stream:
            yield stream
        os.replace(partial, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def open_text(path: Path, mode: str, *, compressed: bool) -> IO[str]:
    """A UTF-8 text file with `\\n` line ends; a gzip file carries no time stamp, so equal content gives equal bytes."""
    if not compressed:
        return path.open(mode, encoding="utf-8", newline="\n")
    import io

    return io.TextIOWrapper(gzip.GzipFile(path, mode + "b", mtime=0), encoding="utf-8", newline="\n")


def to_json_line(value: Any) -> str:
    """Compact JSON with a fixed key order, one line."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), allow_nan=False)


def write_json_lines(path: str | Path, rows: Iterable[Any]) -> None:
    """Writes one JSON value per line, whole or not at all."""
    with whole_file(path) as stream:
        for row in rows:
            stream.write(to_json_line(row) + "\n")

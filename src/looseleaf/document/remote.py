"""`RemoteFolder`: a cache that several machines share, in an object store or any other place that fsspec reaches."""

from __future__ import annotations

import logging
import threading
from typing import Any

from ..errors import ConfigError

__all__ = ["RemoteFolder", "is_url"]

FAILURES = 5
"""Failures in a row after which a process does without the remote cache: each may have cost a time limit."""

S3 = frozenset({"s3", "s3a"})
ONE_REQUEST = {"max_concurrency": 1}
"""s3fs (2026.6, `_cat_file`) otherwise asks for an object's size first, to read it in parts side by side, and lists the
folder where there is none: two requests for a page that is there and three for one that is not, in place of one."""

_log = logging.getLogger(__name__)


def is_url(word: str) -> bool:
    """Whether a cache's word is an address like `s3://bucket/folder`, not a path."""
    return "://" in word


class RemoteFolder:
    """Objects under a URL; safe for several threads, processes and machines.

    An object is written by a single request, so that an object store shows all of it or nothing; it is never changed,
    as keys stand for contents. Whoever reads checks the value's checksum, so that half an object in a store without
    that promise is a miss. Nothing is ever removed here: give the bucket a lifecycle rule.

    Args:
        url: `s3://bucket/folder`, `gs://…`, `file:///…`: what fsspec has a driver for. Credentials are taken from where
            the driver looks for them, never from here.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._opened: tuple[Any, str] | None = None
        self._lock = threading.Lock()
        self._failures = 0

    def get(self, key: str) -> bytes | None:
        """The object, or `None` where there is none or the store does not answer.

        Raises:
            ConfigError: the URL cannot be used, or its driver is not installed.
        """
        if self._given_up:
            return None
        files, root = self._files()
        try:
            content: bytes = files.cat_file(f"{root}/{key}")
        except FileNotFoundError:
            self._failures = 0
            return None
        except Exception as problem:  # drivers raise what they like
            self._failed(problem)
            return None
        self._failures = 0
        return content

    def put(self, key: str, content: bytes) -> None:
        """Write the object; a store that does not answer costs a warning.

        Raises:
            ConfigError: as for `get`.
        """
        if self._given_up:
            return
        files, root = self._files()
        try:
            if "file" in files.protocol:  # an object store has no folders
                files.makedirs(f"{root}/{key}".rpartition("/")[0], exist_ok=True)
            files.pipe_file(f"{root}/{key}", content)
        except Exception as problem:  # drivers raise what they like
            self._failed(problem)
        else:
            self._failures = 0

    def after_fork(self) -> None:
        """In a forked child: connections and locks are the parent's."""
        self._lock = threading.Lock()
        self._opened = None

    @property
    def _given_up(self) -> bool:
        return self._failures >= FAILURES

    def _files(self) -> tuple[Any, str]:
        """fsspec's file system and the root in it."""
        with self._lock:
            if self._opened is None:
                self._opened = _open(self.url)
            return self._opened

    def _failed(self, problem: Exception) -> None:
        self._failures += 1
        if self._failures in {1, FAILURES}:
            rest = (
                "it is tried again"
                if self._failures < FAILURES
                else "this process does without it from now on"
            )
            _log.warning(
                "The remote cache %s cannot be used (%s: %s); %s.",
                self.url,
                type(problem).__name__,
                problem,
                rest,
            )


def _open(url: str) -> tuple[Any, str]:
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        options = ONE_REQUEST if scheme in S3 else {}
        files, root = url_to_fs(url, skip_instance_cache=True, use_listings_cache=False, **options)
    except ImportError as problem:
        raise ConfigError(
            f"The cache {url} needs fsspec and its driver for {scheme} ({problem}); run: pip install 'looseleaf[ray]' "
            f"for s3, or the package that fsspec names for {scheme}."
        ) from problem
    except ValueError as problem:
        raise ConfigError(
            f"The cache {url} cannot be used ({problem}); give a folder, or an address like s3://bucket/folder."
        ) from problem
    return files, root

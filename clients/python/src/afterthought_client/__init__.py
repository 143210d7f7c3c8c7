"""Client for the HTTP interface of afterthought."""

from . import models
from ._client import AsyncClient, Client, Problem, Unreachable

__all__ = ["AsyncClient", "Client", "Problem", "Unreachable", "models"]

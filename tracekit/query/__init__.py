"""QUERY: SQL modules, their parameters, and the engine that runs them on runs."""

from tracekit.query.answer import Answer
from tracekit.query.catalog import load_module, module_names
from tracekit.query.engine import Limits, ModuleSession, missing, run_module, run_sql
from tracekit.query.module import QueryModule
from tracekit.query.scope import Scope

__all__ = [
    "Answer",
    "Limits",
    "ModuleSession",
    "QueryModule",
    "Scope",
    "load_module",
    "missing",
    "module_names",
    "run_module",
    "run_sql",
]

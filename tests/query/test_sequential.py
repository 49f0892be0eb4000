"""The functions that go through lists in order."""

import duckdb
import pytest

from tracekit.query.sequential import register


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    register(made)
    return made


def one(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(f"SELECT {sql}").fetchall()[0][0]


def test_a_walk_follows_what_the_list_has(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    assert one(connection, "walk_back([-1, 0, 0, 1], 3)") == [3, 1, 0]
    assert one(connection, "walk_back([-1, 0, 0, 1], 2)") == [2, 0]
    assert one(connection, "walk_back([-1], NULL)") == []
    assert one(connection, "walk_back(NULL, NULL)") == []


def test_each_row_has_a_walk_of_its_own(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "SELECT walk_back(links, last) FROM (VALUES ([-1, 0], 1), ([-1, -1, 1], 2))"
        " AS t(links, last)"
    ).fetchall()
    assert rows == [([1, 0],), ([2, 1],)]


def test_things_happen_after_the_latest_that_they_follow(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    # 0 at 5; 1 at 0 + 5 + 1 + 2; 2 at the later of 5 + 10 and 8 + 0; 3 by the third.
    found = one(
        connection,
        "replay([-1, 0, 0, -1], [-1, -1, 1, -1], [-1, -1, -1, 2],"
        " [0, 1, 10, 0], [0, 0, 0, 0], [0, 0, 0, -3], [5, 2, 0, 1])",
    )
    assert found == [5, 8, 15, 13]

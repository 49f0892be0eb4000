-- annotations.trace: the ranges and marks, each with the range around it.
--
-- Level, parent and children are those of push_pop ranges of one thread and domain,
-- which nest; a range that ends where it begins, like any, is nested in the one that is
-- open then. child_ns is the time in the ranges directly inside, and own_ns the rest of
-- the duration. A window takes the ranges that start inside, whole; parents and
-- children count wherever they are.
--
-- reads:
--   annotation  rows
-- parameters:
--   limit  BIGINT = 20     Rows to return, 0 for all.
--   kinds  VARCHAR = all   One of all, push_pop, start_end or mark: the rows to return.
-- columns:
--   start_ns       BIGINT   When the range began, or the time of the mark.
--   end_ns         BIGINT   When it ended; NULL if it had not, and for a mark.
--   duration_ns    BIGINT   From start to end.
--   child_ns       BIGINT   Time in the ranges directly inside; NULL if one is open.
--   own_ns         BIGINT   duration_ns without child_ns.
--   range_name     VARCHAR  Domain, a colon, text; the default domain is empty.
--   kind           VARCHAR  push_pop, start_end or mark.
--   process_id     INTEGER  The process, as in the process table.
--   thread_id      INTEGER  Thread that began the range, as in the thread table.
--   end_thread_id  INTEGER  Thread that ended a start_end range.
--   level          BIGINT   Ranges around it, 0 for none; NULL but for push_pop.
--   children       BIGINT   Ranges directly inside; NULL but for push_pop.
--   annotation_id  BIGINT   The range, as in the annotation table.
--   parent_id      BIGINT   The range around it.
--   category       VARCHAR  NVTX category, by name where it has one.
--   payload        VARCHAR  Payload as JSON text.

WITH
    placed AS MATERIALIZED (FROM placed_ranges('recorded.annotation')),
    shown AS (
        SELECT DISTINCT annotation_id
        FROM annotation
        WHERE $kinds IN ('all', kind)
    ),
    nesting AS NOT MATERIALIZED (
        SELECT *
        FROM placed
        WHERE kind = 'push_pop'
    ),
    stack AS MATERIALIZED (FROM range_stacks('nesting')),
    -- Named in text below.
    stacked AS NOT MATERIALIZED ( -- noqa: ST03
        SELECT
            stack.key,
            nesting.place,
            nesting.start_ns,
            range_end(nesting.end_ns) AS end_ns
        FROM nesting
        INNER JOIN stack
            ON
                nesting.process_id = stack.process_id
                AND nesting.thread_id = stack.thread_id
                AND nesting.domain IS NOT DISTINCT FROM stack.domain
    ),
    nested AS MATERIALIZED (FROM nested_ranges('stacked')),
    family AS (
        SELECT
            nested.parent,
            count(*) AS children,
            CASE
                WHEN count(placed.end_ns) = count(*)
                    THEN sum(placed.end_ns - placed.start_ns)
            END::BIGINT AS child_ns
        FROM nested
        INNER JOIN placed ON nested.place = placed.place
        WHERE nested.parent IS NOT NULL
        GROUP BY nested.parent
    )

SELECT
    placed.start_ns,
    CASE WHEN placed.kind <> 'mark' THEN placed.end_ns END AS end_ns,
    CASE WHEN placed.kind <> 'mark' THEN placed.end_ns - placed.start_ns END
        AS duration_ns,
    CASE
        WHEN family.parent IS NOT NULL THEN family.child_ns
        WHEN placed.kind = 'push_pop' THEN 0
    END AS child_ns,
    placed.end_ns - placed.start_ns - CASE
        WHEN family.parent IS NOT NULL THEN family.child_ns
        WHEN placed.kind = 'push_pop' THEN 0
    END AS own_ns,
    range_name(placed.domain, placed.text) AS range_name,
    placed.kind,
    placed.process_id,
    placed.thread_id,
    placed.end_thread_id,
    nested.level,
    CASE WHEN placed.kind = 'push_pop' THEN coalesce(family.children, 0) END
        AS children,
    placed.annotation_id,
    outer_range.annotation_id AS parent_id,
    placed.category,
    placed.payload
FROM placed
INNER JOIN shown ON placed.annotation_id = shown.annotation_id
LEFT JOIN nested ON placed.place = nested.place
LEFT JOIN placed AS outer_range ON nested.parent = outer_range.place
LEFT JOIN family ON placed.place = family.parent
ORDER BY placed.start_ns ASC, placed.place ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;

-- Sets of ids as bits. Ids are counted up, so many lie close together: a block of 32
-- neighbors takes one row where each id would take its own, and a hash table of all
-- ids of a large capture is what makes a query slow. In a group by block,
-- bit_or(id_bit(id)) is the set of its ids, and where it has fewer bits than the group
-- has rows, an id stands there twice.

CREATE MACRO id_block(id) AS id >> 5;

CREATE MACRO id_bit(id) AS 1::bigint << (id & 31);

-- Named queries of the SQLite ledger for the definitions of boards. A name, a line that says what it is for, the query.

-- name: current_boards
-- The newest version of every board that was not deleted.
SELECT b.id, b.version, b.definition, b.meaning
FROM boards b
WHERE b.version = (SELECT MAX(version) FROM boards WHERE id = b.id) AND b.deleted IS NULL
ORDER BY b.name;

-- name: next_board_id
-- The number for a new board.
SELECT COALESCE(MAX(id), 0) + 1 FROM boards;

-- name: put_board
-- Record a version of a definition.
INSERT INTO boards (id, version, meaning, name, definition, created) VALUES (?, ?, ?, ?, ?, ?);

-- name: delete_board
-- End a board's life; the answer is its number, with every version.
UPDATE boards SET deleted = ? WHERE name = ? AND deleted IS NULL RETURNING id, version;

-- name: deleted_boards
-- The boards whose life has ended, and what they meant last.
SELECT id, MAX(meaning) FROM boards GROUP BY id HAVING COUNT(*) = COUNT(deleted);

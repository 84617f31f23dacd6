package ledger

// BeforeCommit is called in each change when everything is written but COMMIT.
func BeforeCommit(f func()) { testOnlyBeforeCommit = f }

// Schema makes the tables.
const Schema = schema

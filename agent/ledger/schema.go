package ledger

// version is the file's user_version. A change of the schema is another version.
const version = 1

// application is the file's application_id: "ryeL".
const application = 0x7279654c

// schema makes the tables. The sums of a node include all nodes below it. The CHECKs bound held,
// spent, uncertain and over, but no cap: a bill may exceed every cap, and only the statement fits
// decides whether a hold has room.
const schema = `
CREATE TABLE meta (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  boot TEXT NOT NULL
) STRICT;

CREATE TABLE node (
  n      INTEGER PRIMARY KEY,
  id     TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 200),
  parent INTEGER REFERENCES node(n),
  kind   TEXT    NOT NULL CHECK (kind IN ('user', 'month', 'project', 'thread')),
  depth  INTEGER NOT NULL CHECK (depth BETWEEN 0 AND 63),
  epoch  INTEGER NOT NULL CHECK (epoch >= 0),
  closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
  cap_money        INTEGER NOT NULL CHECK (cap_money  BETWEEN -1 AND 1000000000000000),
  cap_tokens       INTEGER NOT NULL CHECK (cap_tokens BETWEEN -1 AND 1000000000000000),
  held_money       INTEGER NOT NULL DEFAULT 0 CHECK (held_money   BETWEEN 0 AND 4000000000000000000),
  held_tokens      INTEGER NOT NULL DEFAULT 0 CHECK (held_tokens  BETWEEN 0 AND 4000000000000000000),
  spent_money      INTEGER NOT NULL DEFAULT 0 CHECK (spent_money  BETWEEN 0 AND 4000000000000000000),
  spent_tokens     INTEGER NOT NULL DEFAULT 0 CHECK (spent_tokens BETWEEN 0 AND 4000000000000000000),
  uncertain_money  INTEGER NOT NULL DEFAULT 0 CHECK (uncertain_money  BETWEEN 0 AND spent_money),
  uncertain_tokens INTEGER NOT NULL DEFAULT 0 CHECK (uncertain_tokens BETWEEN 0 AND spent_tokens),
  over_money       INTEGER NOT NULL DEFAULT 0 CHECK (over_money  BETWEEN 0 AND spent_money),
  over_tokens      INTEGER NOT NULL DEFAULT 0 CHECK (over_tokens BETWEEN 0 AND spent_tokens),
  CHECK ((kind = 'user') = (parent IS NULL)),
  CHECK ((depth = 0) = (parent IS NULL))
) STRICT;

CREATE TABLE above (
  node     INTEGER NOT NULL REFERENCES node(n),
  ancestor INTEGER NOT NULL REFERENCES node(n),
  PRIMARY KEY (node, ancestor)
) STRICT, WITHOUT ROWID;

CREATE TABLE hold (
  key    TEXT    PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 300),
  node   INTEGER NOT NULL REFERENCES node(n),
  epoch  INTEGER NOT NULL CHECK (epoch >= 0),
  money  INTEGER NOT NULL CHECK (money  BETWEEN 0 AND 1000000000000000),
  tokens INTEGER NOT NULL CHECK (tokens BETWEEN 0 AND 1000000000000000),
  time   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE bill (
  key         TEXT    PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 300),
  node        INTEGER NOT NULL REFERENCES node(n),
  epoch       INTEGER NOT NULL CHECK (epoch >= 0),
  uncertain   INTEGER NOT NULL CHECK (uncertain IN (0, 1)),
  money       INTEGER NOT NULL CHECK (money  BETWEEN 0 AND 1000000000000000),
  tokens      INTEGER NOT NULL CHECK (tokens BETWEEN 0 AND 1000000000000000),
  held_money  INTEGER NOT NULL CHECK (held_money  BETWEEN 0 AND 1000000000000000),
  held_tokens INTEGER NOT NULL CHECK (held_tokens BETWEEN 0 AND 1000000000000000),
  provider    TEXT    NOT NULL CHECK (length(provider) <= 200),
  model       TEXT    NOT NULL CHECK (length(model) <= 200),
  input       INTEGER NOT NULL CHECK (input >= 0),
  cache_read  INTEGER NOT NULL CHECK (cache_read >= 0),
  cache_write INTEGER NOT NULL CHECK (cache_write >= 0),
  cache_write_long INTEGER NOT NULL CHECK (cache_write_long >= 0),
  output      INTEGER NOT NULL CHECK (output >= 0),
  reasoning   INTEGER NOT NULL CHECK (reasoning >= 0),
  time        INTEGER NOT NULL,
  CHECK (uncertain = 0 OR (money = held_money AND tokens = held_tokens))
) STRICT, WITHOUT ROWID;

CREATE VIEW spend AS SELECT
  strftime('%Y-%m-%dT%H:%M:%SZ', b.time / 1000000, 'unixepoch') AS time,
  t.id AS thread, b.key, b.provider, b.model, b.money / 1e6 AS dollars, b.money, b.tokens,
  b.uncertain, max(0, b.money - b.held_money) AS over_money,
  b.input, b.cache_read, b.cache_write, b.cache_write_long, b.output, b.reasoning
FROM bill b JOIN node t ON t.n = b.node;
`

// sums computes the sums of every node from the rows. It serves to check a ledger and to rebuild
// one.
const sums = `
WITH own(node, held_money, held_tokens, spent_money, spent_tokens, uncertain_money, uncertain_tokens, over_money, over_tokens) AS (
  SELECT node, money, tokens, 0, 0, 0, 0, 0, 0 FROM hold
  UNION ALL
  SELECT node, 0, 0, money, tokens, money * uncertain, tokens * uncertain, max(0, money - held_money), max(0, tokens - held_tokens) FROM bill
), each AS (
  SELECT node, sum(held_money) AS held_money, sum(held_tokens) AS held_tokens, sum(spent_money) AS spent_money, sum(spent_tokens) AS spent_tokens,
    sum(uncertain_money) AS uncertain_money, sum(uncertain_tokens) AS uncertain_tokens, sum(over_money) AS over_money, sum(over_tokens) AS over_tokens
  FROM own GROUP BY node
), total AS (
  SELECT a.ancestor AS n, sum(held_money) AS held_money, sum(held_tokens) AS held_tokens, sum(spent_money) AS spent_money, sum(spent_tokens) AS spent_tokens,
    sum(uncertain_money) AS uncertain_money, sum(uncertain_tokens) AS uncertain_tokens, sum(over_money) AS over_money, sum(over_tokens) AS over_tokens
  FROM each JOIN above a ON a.node = each.node GROUP BY a.ancestor
)`

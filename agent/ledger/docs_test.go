package ledger_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/ledger"
)

// TestDocs compares the page with the tables, and asks what it tells people to ask.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	var made, asked []string
	for i, part := range strings.Split(string(page), "```") {
		if text, ok := strings.CutPrefix(part, "sql\n"); ok && i%2 == 1 {
			if strings.HasPrefix(text, "CREATE") {
				made = append(made, text)
			} else {
				asked = append(asked, text)
			}
		}
	}
	if got := "\n" + strings.Join(made, "\n"); got != ledger.Schema {
		t.Errorf("the tables of docs/format/ledger.md are\n%s\nthose that are made\n%s", got, ledger.Schema)
	}
	db, err := sql.Open("sqlite", "file:"+checkpointed(t)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range asked {
		rows, err := db.Query(q)
		if err != nil {
			t.Errorf("%s\n%v", q, err)
			continue
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s\n%v", q, err)
		}
		rows.Close()
	}
	if len(asked) < 5 {
		t.Errorf("%d questions, want 5", len(asked))
	}
	var shown string
	if err := db.QueryRow(`SELECT group_concat(key || ' ' || printf('%.6f', dollars) || ' ' || over_money || ' ' || uncertain, ', ') FROM spend`).Scan(&shown); err != nil || shown != "a/1/1 0.000012 2 0, b/1/1 0.000040 0 1" {
		t.Errorf("spend = %q, %v", shown, err)
	}
}

package oplog

import (
	"strings"
	"testing"
)

func TestCheckRepositoryRefuses(t *testing.T) {
	for _, text := range []string{"", "relative.git", "/absolute.git", "git@host:acme.git", "ext::sh -c id", "https://host", "https://host/",
		"https://user@host/a.git", "https://user:secret@host/a.git", "ssh://git:secret@host/a.git", "https://host/a.git?x=1", "https://host/a.git#x",
		"HTTPS://host/a.git", "https://host/a b.git", "https://host/\x00a", "https://h\u00f6st/a.git", "file://host/a.git", "file:///", "javascript://x/y",
		"ssh://-oProxyCommand=id/a.git", "https://host/" + strings.Repeat("a", 1000), "ftp://host/a.git"} {
		if err := CheckRepository(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

package main

// goals are the goals of rows, by name and peer: a ratio of the clock unless they say otherwise,
// or the time above the peer's. They are for 10,000 items where a row has sizes.
var goals = map[string]string{
	"start, beside git --version":                                                        "2.2 x",
	"load one verified item, beside rye version, which is a start":                       "+ 1 ms",
	proxied + ", named host, beside direct":                                              "+ 0.5 ms",
	proxied2 + ", named host, beside direct":                                             "1.25 x",
	proxied1 + ", named host, beside direct":                                             "1.25 x",
	proxied + ", CONNECT, beside direct":                                                 "+ 0.5 ms",
	proxied2 + ", CONNECT, beside direct":                                                "1.25 x",
	proxied1 + ", CONNECT, beside direct":                                                "1.25 x",
	proxied + ", http:// address, beside direct":                                         "+ 0.5 ms",
	proxied2 + ", http:// address, beside direct":                                        "1.25 x",
	proxied1 + ", http:// address, beside direct":                                        "1.25 x",
	bashTool + ", beside bash script":                                                    "+ 9 ms",
	"take in: verify and record, beside git fast-import":                                 "0.8 x",
	"verify every item, beside ed25519 alone, in memory":                                 "1.5 x processors",
	"status of clean items, beside git status":                                           "1.1 x",
	"status of 200 unrecorded items, 500 commits, beside git status":                     "50 ms in all",
	"compact 500 commits of one item, beside git gc":                                     "1 x",
	"compact 10,000 files in one folder, 100 commits, beside git gc":                     "2 x",
	"publish in one push, beside git fast-import of the same objects, and git push":      "1 x",
	"registry: publish one item, beside git push of one commit":                          "1.3 x",
	"registry: nothing is new, beside git fetch":                                         "0.4 x",
	"registry: one item, the state known, beside git clone --bare":                       "0.1 x",
	"registry: one item, at first contact, beside git clone --bare":                      "0.2 x",
	"load one item, 1000000 revoked versions, beside the same with none":                 "+ 1 ms",
	"search a word in the index, beside FTS5":                                            "0.5 x",
	"search two words in the index, beside FTS5":                                         "0.1 x",
	"search a question in the index, beside FTS5":                                        "0.1 x",
	"MCP call: execute of a knowledge entry, beside its own duration_ms":                 "+ 0.3 ms",
	startThread + ", beside two engine starts":                                           "+ 20 ms",
	betweenCalls + ", 100 KB, beside its syncs alone":                                    "+ 2 ms",
	"add 400 skills from a clone on disk, beside cp -r, and git hash-object of the same": "3 x",
	"outdated: 20 origins, hosts of 50 ms, beside the slowest git ls-remote of them":     "1.3 x",
	resumeThread + ", beside cat of its journal":                                         "200 ms in all",
}

// key is the name of a row for every number of items.
func (r row) key() string { return r.what + ", beside " + r.peer }

// goal returns the row's goal; "-" for none.
func (r row) goal() string {
	if g, ok := goals[r.key()]; ok {
		return g
	}
	return "-"
}

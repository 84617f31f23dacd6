package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// keyLen is the length of a record's key.
const keyLen = 52

// placeNames are the arguments of rye where.
var placeNames = []string{"project", "record", "user", "user-record", "config", "data", "state", "cache"}

func whereCommand() *spec {
	var q rye.WhereRequest
	return &spec{
		name: "where", group: "Serve and maintain", args: "[project|record|user|user-record|config|data|state|cache]",
		short: "Show the paths of the record, keys, state and caches",
		long: `Prints every path, or with a name only that path, for scripts. The record is the git
repository with the history of the project's items. It is in your own directories, not in
the project, so each copy, clone and worktree has its own record; --all lists them.

After a rename or a move, a directory's record is still under the old path. If the system
shows that it is the same directory, rye where offers the record. --move takes it over,
with its grants, after asking. If inode and birth time do not prove that it is the same
directory, a person must agree, or --accept-directory.`,
		examples: `rye where
git -C "$(rye where record)" log     # the history, by git
rye where --all
rye where --move ../old-name`,
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Denied},
		max:   1,
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Destination: &q.All, Usage: "list all your records"},
			&cli.StringFlag{Name: "move", Destination: &q.Move, Usage: "take over the record of this `path`, or with this key"},
			&cli.BoolFlag{Name: "accept-directory", Destination: &q.AcceptDirectory, Usage: "with --move --yes: also without proof that it is the same directory"},
			&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "with --move: show the change, make none"},
		},
		run: func(t *task) error {
			if q.Move != "" && len(q.Move) != keyLen {
				q.Move = t.path(q.Move)
			}
			rep, err := t.w.Upkeep().Where(t.ctx, t.env.Caller, q)
			if err != nil {
				return err
			}
			if name := t.arg(0); name != "" {
				return t.printPlace(rep, name)
			}
			if t.out.json {
				return t.out.object(rep)
			}
			t.out.printWhere(rep, q)
			return nil
		},
	}
}

// printPlace prints one path.
func (t *task) printPlace(rep *rye.WhereReport, name string) error {
	for i, path := range placesOf(rep) {
		if placeNames[i] != name {
			continue
		}
		if path == "" {
			return nowhere(rep, name)
		}
		t.out.printf("%s\n", path)
		return nil
	}
	return fault.New(fault.Usage, "where %q: want one of project, record, user, user-record, config, data, state, cache", name)
}

func placesOf(rep *rye.WhereReport) []string {
	return []string{rep.Project, rep.Record, rep.User, rep.UserRecord, rep.Config, rep.Data, rep.State, rep.Cache}
}

// nowhere returns the error for a missing place.
func nowhere(rep *rye.WhereReport, name string) error {
	if rep.Project == "" && (name == "project" || name == "record") {
		return fault.New(fault.NotFound, "where %s: there is no project here", name).Mend("rye init")
	}
	if rep.NoRecord != "" {
		return fault.New(fault.NotFound, "where %s: %s", name, rep.NoRecord).With(rep.Hint)
	}
	return fault.New(fault.NotFound, "where %s: nowhere; HOME is not set", name)
}

func (p *printer) printWhere(rep *rye.WhereReport, q rye.WhereRequest) {
	if rep.Moved != nil {
		p.resultf(rep.DryRun, "took over the record of %s\n", rep.Moved.Path)
	}
	for i, path := range placesOf(rep) {
		if path != "" {
			p.printf("%-12s %s\n", placeNames[i], path)
		}
	}
	if rep.NoRecord != "" {
		p.printf("%-12s none: %s\n", "record", prose(rep.NoRecord))
	}
	if rep.Replaced {
		p.printf("             the directory was created again after the last entry of its record; the history stays\n")
	}
	if rep.Old != "" {
		p.printf("             %s is a record of rye 0.1 and is ignored; remove it\n", rep.Old)
	}
	if rep.Offer != nil {
		p.printf("             the record of this directory is under its old path, %s\n", rep.Offer.Path)
	}
	if !rep.Hint.IsZero() {
		p.printf("             %s\n", rep.Hint)
	}
	for _, r := range rep.Records {
		p.printf("%s\n", prose(recordLine(r, q.All)))
	}
}

// recordLine returns one record as a line of a list.
func recordLine(r rye.RecordInfo, all bool) string {
	line := "sibling      "
	if all {
		line = r.Key[:min(len(r.Key), 12)] + " "
	}
	if r.Path == "" {
		return line + words.Quote(r.Dir) + ", of an unknown directory"
	}
	line += words.Quote(r.Path)
	switch {
	case r.Foreign:
		line += ", of another machine or user"
	case r.Same:
		line += ", this directory under another path"
	case r.Gone:
		line += ", missing"
	}
	if r.Used != "" {
		line += ", used " + r.Used
	}
	return line
}

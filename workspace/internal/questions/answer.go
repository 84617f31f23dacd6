package questions

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/session"
)

// List returns the user's questions that have not ended, in any project and outside of all, the
// oldest first. They are open, or have an unused answer.
func List(h *session.Host) ([]rye.OpenQuestion, error) {
	all, err := everywhere(h)
	var list []rye.OpenQuestion
	for _, e := range all {
		if e.answer == nil || !e.used {
			list = append(list, e.shown())
		}
	}
	return list, err
}

// everywhere returns the open questions from every place.
func everywhere(h *session.Host) ([]entry, error) {
	dirs := []dir{dir(h.Records.Questions())}
	known, err := h.Records.All()
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		dirs = append(dirs, dir(k.Place.Questions()))
	}
	var all []entry
	for _, d := range dirs {
		if d == "" {
			continue
		}
		some, err := d.all()
		if err != nil {
			return nil, err
		}
		all = append(all, open(some, h.Now())...)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// shown converts a record for a report.
func (e entry) shown() rye.OpenQuestion {
	q := rye.OpenQuestion{ID: e.ID, Asked: e.Asked.UTC().Format(time.RFC3339), Expires: e.Expires.UTC().Format(time.RFC3339), Caller: e.Caller,
		Directory: e.Directory, Topic: e.Topic, Text: e.Text, Lines: e.Lines, Digest: e.Digest().String()}
	if e.answer != nil {
		q.Answer = "no"
		if e.answer.Yes {
			q.Answer = "yes"
		}
	}
	return q
}

// Answer answers one question. A yes needs a person who reads the whole question: no flag
// replaces that, because a program that asks could type the flag.
func Answer(ctx context.Context, h *session.Host, c rye.Caller, q rye.AnswerRequest) (*rye.OpenQuestion, error) {
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "answer question %s: only a person may answer, and %s is not a person", q.ID, c.Who())
	}
	e, err := find(h, q.ID)
	if err != nil {
		return nil, err
	}
	if !q.No {
		if err := h.Ask(ctx, approval(e)); err != nil {
			return nil, err
		}
		if e, err = find(h, e.ID); err != nil { // it may have ended meanwhile
			return nil, err
		}
	}
	if err := e.reply(!q.No, h.Now()); err != nil {
		return nil, err
	}
	if e, err = e.in.entry(e.ID); err != nil {
		return nil, err
	}
	rep := e.shown()
	return &rep, nil
}

// approval is the question to the person who answers another caller's question.
func approval(e entry) rye.Question {
	where := "outside any project"
	if e.Directory != "" {
		where = "in " + e.Directory
	}
	text := e.Topic + ", asked by " + e.Caller + " " + where + " at " + e.Asked.UTC().Format(time.RFC3339) + ": " + e.Text
	return rye.Question{Topic: "approve " + e.ID, Text: text, Lines: e.Lines, Person: true,
		Mend: fault.Advice("review it in a terminal: rye approve %s", e.ID)}
}

// find returns the one open question whose id begins with id.
func find(h *session.Host, id string) (entry, error) {
	all, err := everywhere(h)
	if err != nil {
		return entry{}, err
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return !strings.HasPrefix(e.ID, strings.ToLower(id)) })
	switch {
	case id == "" || len(all) == 0:
		return entry{}, fault.New(fault.NotFound, "no open question %q", id).Advise("rye approve shows the open questions")
	case len(all) > 1:
		return entry{}, fault.New(fault.Usage, "%d open questions begin with %q", len(all), id).Advise("rye approve shows the open questions")
	case all[0].answer != nil:
		return entry{}, fault.New(fault.Conflict, "question %s was answered already", all[0].ID).Advise("rye approve shows the open questions")
	}
	return all[0], nil
}

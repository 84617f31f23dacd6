package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye"
)

// say sends a log message to the client of a request. The client sets the minimum level; the
// default is info. Models do not see it.
func (s *Server) say(ctx context.Context, level mcp.LoggingLevel, format string, args ...any) {
	_ = s.rpc.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(level, "rye", fmt.Sprintf(format, args...))) // clients that do not listen miss it
}

// sayOf logs the facts about a run that its answer leaves out.
func (s *Server) sayOf(ctx context.Context, res *rye.ExecuteResult) {
	m, of := res.Metadata, res.Type+":"+res.ItemID
	if m.Verdict != nil {
		s.say(ctx, mcp.LoggingLevelDebug, "%s: %s by %s, tier %s", of, m.Verdict.Verdict, m.Verdict.Rule, m.Verdict.Tier)
	}
	if len(m.Unbound) > 0 {
		s.say(ctx, mcp.LoggingLevelDebug, "%s: not limited: %s", of, strings.Join(m.Unbound, "; "))
	}
	if m.Drift != "" {
		s.say(ctx, mcp.LoggingLevelNotice, "%s: differs from the lock: %s", of, m.Drift)
	}
	if len(m.Patched) > 0 {
		s.say(ctx, mcp.LoggingLevelNotice, "%s: patched, so no owner signed it: %s", of, strings.Join(m.Patched, ", "))
	}
	for _, t := range m.Taken {
		s.say(ctx, mcp.LoggingLevelWarning, "%s: %s appeared while it ran, and was moved away: %s runs it by itself", of, t.Path, t.Kind)
	}
}

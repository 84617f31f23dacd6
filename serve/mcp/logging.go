package mcp

import (
	"context"

	"github.com/rye-os/rye"
)

// sayOf tells a client that asked for the server's log what of a run no model acts on.
func (s *Server) sayOf(ctx context.Context, res *rye.ExecuteResult) {}

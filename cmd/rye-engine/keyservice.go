package main

import (
	"context"

	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/objects/trust/kms"
)

// serveKeys makes one signature for RYE_KEY=kms:….
func serveKeys(ctx context.Context, _ *app.App) error {
	return app.ServeKeys(ctx, func(ctx context.Context, q app.KeyRequest) (app.KeyReply, error) {
		s, err := kms.Open(ctx, q.URI)
		if err != nil {
			return app.KeyReply{}, err
		}
		reply := app.KeyReply{Public: s.Public().Authorized()}
		if len(q.Message) > 0 {
			reply.Signature, err = s.Sign(ctx, q.Message)
		}
		return reply, err
	})
}

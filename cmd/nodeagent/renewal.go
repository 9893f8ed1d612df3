package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
)

// renewal returns a function that renews the agent's token until its context ends, if opts ask for that.
func renewal(opts options, cfg *rest.Config, log *slog.Logger) (func(context.Context), error) {
	if !opts.renew {
		return func(context.Context) {}, nil
	}
	if cfg.BearerTokenFile == "" {
		return nil, errors.New("--renew-token requires a kubeconfig with a tokenFile: create it with fettle agent install")
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	renewer := nodetoken.Renewer{
		File: cfg.BearerTokenFile, Replace: state.ReplaceFile, Clock: clock.RealClock{}, Random: rand.Float64, Log: log,
		Request: func(ctx context.Context, current nodetoken.Claims) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
			defer cancel()
			request := nodetoken.Request{Namespace: current.Namespace, Account: current.Account, Node: opts.node, Lifetime: nodetoken.MaxLifetime}
			return request.Create(ctx, client.Resource(nodetoken.Accounts()).Namespace(request.Namespace))
		},
	}
	return renewer.Run, nil
}

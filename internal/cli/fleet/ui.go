package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/page"
)

// A uiCommand is ui.
type uiCommand struct {
	shared
	port uint16
}

func newUI(s shared) *cobra.Command {
	c := uiCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show the fleet in a browser",
		Long: "ui serves a page about the fleet on loopback until it is interrupted, and prints its address. It reads everything\n" +
			"with your rights, changes nothing, and lets in only who knows the address.",
		Example: "  kubectl fettle ui",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().Uint16Var(&c.port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	return cmd
}

// run serves the page until ctx ends.
func (c *uiCommand) run(ctx context.Context) error {
	cfg, err := c.access.Config()
	if err != nil {
		return err
	}
	fleet, err := live.Watch(ctx, cfg)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(c.port))))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	_, is, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	guard := page.NewGuard(is)
	server := &http.Server{
		Handler:           guard.Wrap(page.New(page.Options{Root: guard.Root(), Source: fleet, Cluster: c.access.Name(cfg), Now: time.Now})),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends the streams of updates
	}
	_, _ = fleet.Nodes() // begins to read, so that the first page has something to show
	c.out.Print("Open %s", guard.URL())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

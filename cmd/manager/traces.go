package main

import (
	"context"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/internal/fleet/traceexport"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
)

// startTraces has a fleet record spans if the environment asks for them. Traces that cannot be sent are no reason not to run. The returned
// function sends those that wait.
func startTraces(ctx context.Context, fleet *controllers.Fleet) (end func()) {
	log := ctrl.Log.WithName("traces")
	wanted, err := traceexport.Wanted(os.Getenv)
	if err == nil && !wanted {
		return func() {}
	}
	var to *traceexport.Provider
	if err == nil {
		to, err = traceexport.New(ctx, "fettle-manager", log)
	}
	if err != nil {
		log.Error(err, "there are no traces")
		return func() {}
	}
	fleet.Traces = traces.New(to, fleet.Clock)
	return to.Close
}

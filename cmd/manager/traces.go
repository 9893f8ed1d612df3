package main

import (
	"context"
	"os"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/internal/fleet/traceexport"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
)

// startTraces returns a recorder of spans if the environment asks for them. Traces that cannot be sent are no reason not to run. The returned
// function sends those that wait.
func startTraces(ctx context.Context) (recorder *traces.Recorder, end func()) {
	log := ctrl.Log.WithName("traces")
	wanted, err := traceexport.Wanted(os.Getenv)
	if err == nil && !wanted {
		return nil, func() {}
	}
	var to *traceexport.Provider
	if err == nil {
		to, err = traceexport.New(ctx, "fettle-manager", log)
	}
	if err != nil {
		log.Error(err, "there are no traces")
		return nil, func() {}
	}
	return traces.New(to, clock.RealClock{}), to.Close
}

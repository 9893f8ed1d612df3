package reportsapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Checker returns an error for the caller if a node need not be asked, such as one that does not exist.
type Checker func(ctx context.Context, node string) error

// maxReason is the length of the longest reason why an answer is no report, in bytes.
const maxReason = 200

// asker asks nodes for callers.
type asker struct {
	hub   *questions.Hub
	check Checker
}

// ask returns the decoded reports in the answer of a node. The error is shown to the caller.
func (a asker) ask(ctx context.Context, node string, topic v1alpha1.Topic) ([]checked, error) {
	if err := a.check(ctx, node); err != nil {
		return nil, err
	}
	answer, err := a.hub.Ask(ctx, node, topic)
	var timeout *questions.TimeoutError
	switch {
	case err == nil:
	case errors.As(err, &timeout):
		return nil, apierrors.NewTimeoutError(err.Error(), 0)
	case errors.Is(err, questions.ErrTooMany):
		return nil, apierrors.NewTooManyRequests(err.Error(), 1)
	default:
		return nil, apierrors.NewInternalError(err)
	}
	all, err := checkReports(answer.Reports)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the agent of %s answers something that is not a report: %s", node, text.Clip(text.Line(text.Error(err)), maxReason)))
	}
	if topic == v1alpha1.TopicDifference && len(all) != 1 {
		return nil, apierrors.NewInternalError(fmt.Errorf("the agent of %s answers with %d reports instead of one", node, len(all)))
	}
	return all, nil
}

// nodeDiffs are the differences of hosts from their catalogs, computed when they are read.
type nodeDiffs struct {
	clusterScoped
	asker
	diffTable
}

// New implements [rest.Storage].
func (nodeDiffs) New() runtime.Object { return &v1alpha1.NodeDiff{} }

// Get implements [rest.Getter].
func (s nodeDiffs) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	all, err := s.ask(ctx, name, v1alpha1.TopicDifference)
	if err != nil {
		return nil, err
	}
	return &v1alpha1.NodeDiff{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(all[0].report.Started)},
		Report:     all[0].raw,
	}, nil
}

// nodeReports are the reports that nodes have stored.
type nodeReports struct {
	clusterScoped
	asker
	reportTable
}

// New implements [rest.Storage].
func (nodeReports) New() runtime.Object { return &v1alpha1.NodeReport{} }

// NewList implements [rest.Lister].
func (nodeReports) NewList() runtime.Object { return &v1alpha1.NodeReportList{} }

// List implements [rest.Lister]. It lists the reports of one node.
func (s nodeReports) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	node := ""
	if options != nil && options.FieldSelector != nil {
		node, _ = options.FieldSelector.RequiresExactMatch(v1alpha1.FieldNode)
	}
	if node == "" {
		return nil, apierrors.NewBadRequest("reports are listed for one node: select it with the field selector " + v1alpha1.FieldNode + "=NAME")
	}
	return s.of(ctx, node)
}

func (s nodeReports) of(ctx context.Context, node string) (*v1alpha1.NodeReportList, error) {
	all, err := s.ask(ctx, node, v1alpha1.TopicReports)
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.NodeReportList{Items: []v1alpha1.NodeReport{}}
	for _, r := range all {
		list.Items = append(list.Items, v1alpha1.NodeReport{
			ObjectMeta: metav1.ObjectMeta{Name: node + "." + strconv.FormatInt(r.number, 10), CreationTimestamp: metav1.NewTime(r.report.Started)},
			Node:       node, NumberedReport: v1alpha1.NumberedReport{Number: r.number, Report: r.raw},
		})
	}
	return list, nil
}

// Get implements [rest.Getter].
func (s nodeReports) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is not the name of a report: use NODE.NUMBER", name))
	}
	list, err := s.of(ctx, name[:dot])
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i], nil
		}
	}
	return nil, apierrors.NewNotFound(resourceOf("nodereports"), name)
}

var (
	_ rest.Getter = nodeDiffs{}
	_ rest.Lister = nodeReports{}
)

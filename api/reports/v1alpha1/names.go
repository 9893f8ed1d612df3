package v1alpha1

// prefix of the names of the kinds in OpenAPI.
const prefix = "dev.fettle.reports.v1alpha1."

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeQuestion) OpenAPIModelName() string { return prefix + "NodeQuestion" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeQuestionList) OpenAPIModelName() string { return prefix + "NodeQuestionList" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeAnswer) OpenAPIModelName() string { return prefix + "NodeAnswer" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeReport) OpenAPIModelName() string { return prefix + "NodeReport" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeReportList) OpenAPIModelName() string { return prefix + "NodeReportList" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (NodeDiff) OpenAPIModelName() string { return prefix + "NodeDiff" }

// OpenAPIModelName returns the name of the kind in OpenAPI.
func (Plan) OpenAPIModelName() string { return prefix + "Plan" }

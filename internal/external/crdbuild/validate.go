package crdbuild

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate returns what an API server would reject, in terms of the type.
func validate(built *apiextensionsv1.CustomResourceDefinition) error {
	stored := built.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(stored)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&stored.Spec)
	stored.Status.StoredVersions = []string{stored.Spec.Versions[0].Name}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(stored, &internal, nil); err != nil {
		return fmt.Errorf("cannot convert the definition of %s: %w", built.Spec.Names.Kind, err)
	}
	var faults []error
	for _, f := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		faults = append(faults, errors.New(reworded(f)))
	}
	return errors.Join(faults...)
}

// reworded names the attribute of a type instead of the field of its definition.
func reworded(f *field.Error) string {
	if rule := ruleField().FindStringSubmatch(f.Field); rule != nil {
		return "spec.rules" + rule[1] + ": " + f.Detail
	}
	return attributeField().ReplaceAllString(f.Field, "spec.attributes[$1].schema") + ": " + f.ErrorBody()
}

// attributeField matches the schema of an attribute in a definition. It is never changed.
var attributeField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^spec\.(?:versions\[0\]\.schema|validation)\.openAPIV3Schema\.properties\[spec\]\.properties\[properties\]\.properties\[([^]]*)\]`)
})

// ruleField matches a rule of the spec in a definition. The rules of the type come first. It is never changed.
var ruleField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^spec\.(?:versions\[0\]\.schema|validation)\.openAPIV3Schema\.properties\[spec\]\.x-kubernetes-validations(.*)$`)
})

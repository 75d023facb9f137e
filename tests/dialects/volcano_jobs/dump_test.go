package job

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/volcano/pkg/controllers/job/plugins"
	pluginsinterface "volcano.sh/volcano/pkg/controllers/job/plugins/interface"
)

func TestDump(t *testing.T) {
	raw, _ := os.ReadFile(os.Getenv("JOB"))
	job := &batch.Job{}
	if err := yaml.Unmarshal(raw, job); err != nil {
		t.Fatal(err)
	}
	job.Status.ControlledResources = map[string]string{}
	client := pluginsinterface.PluginClientset{KubeClients: fake.NewSimpleClientset()}
	order := []string{"svc", "ssh", "env", "tensorflow", "mpi", "pytorch", "ray", "hcclrank"}
	var out []interface{}
	for i := range job.Spec.Tasks {
		ts := job.Spec.Tasks[i]
		ts.Template.Name = ts.Name
		for ix := 0; ix < int(ts.Replicas); ix++ {
			pod := createJobPod(job, ts.Template.DeepCopy(), ix, false, nil, &ts)
			for _, name := range order {
				args, found := job.Spec.Plugins[name]
				if !found {
					continue
				}
				pb, _ := plugins.GetPluginBuilder(name)
				if err := pb(client, args).OnPodCreate(pod, job); err != nil {
					t.Fatal(err)
				}
			}
			out = append(out, pod)
		}
	}
	text, _ := json.Marshal(out)
	fmt.Println("DUMP" + string(text))
}

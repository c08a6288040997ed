"""KubeRay's RayJob, version ray.io/v1, as a JSON schema of the fields that we may use.

Names, types and what is required are those of https://ray-project.github.io/kuberay/reference/api/
(operator 1.5.1 and later), and of the operator's Go types, from which its CRD is generated:
github.com/ray-project/kuberay, ray-operator/apis/ray/v1, rayjob_types.go and raycluster_types.go.
What is a positive number there, its controllers/ray/utils/validation.go says. `make published`
compares with the whole CRD, which is 1 MB.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 0}
POSITIVE: Schema = {"type": "integer", "minimum": 1}
SWITCH: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}
POD_TEMPLATE: Schema = {"type": "object"}  # Kubernetes' own: see kubernetes_fields.py


def fields(*required: str, **properties: Schema) -> Schema:
    """Return an object's schema with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


HEAD = fields(
    "rayStartParams",
    "template",
    enableIngress=SWITCH,
    rayStartParams=TEXTS,
    serviceType={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    template=POD_TEMPLATE,
)
WORKERS = fields(
    "groupName",
    "minReplicas",
    "maxReplicas",
    "rayStartParams",
    "template",
    groupName=TEXT,
    replicas=NUMBER,
    minReplicas=NUMBER,
    maxReplicas=NUMBER,
    numOfHosts=NUMBER,
    rayStartParams=TEXTS,
    template=POD_TEMPLATE,
)
CLUSTER = fields(
    "headGroupSpec",
    rayVersion=TEXT,
    authOptions=fields("mode", mode={"enum": ["token", "disabled"]}),
    enableInTreeAutoscaling=SWITCH,
    suspend=SWITCH,
    headGroupSpec=HEAD,
    workerGroupSpecs={"type": "array", "items": WORKERS},
)
RAY_JOB_SPEC = fields(
    activeDeadlineSeconds=POSITIVE,
    backoffLimit=NUMBER,
    clusterSelector=TEXTS,
    entrypoint=TEXT,
    metadata=TEXTS,
    rayClusterSpec=CLUSTER,
    runtimeEnvYAML=TEXT,
    shutdownAfterJobFinishes=SWITCH,
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"]},
    submitterPodTemplate=POD_TEMPLATE,
    suspend=SWITCH,
    ttlSecondsAfterFinished=NUMBER,
)

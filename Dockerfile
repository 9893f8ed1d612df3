# One image with the manager, the node agent and the command; the manifests say which
# one runs, and as whom (the agent must be root in its pod, the manager must not).
#
#   docker build -t fettle .                                        builds the binaries in a container
#   make build && docker build --target prebuilt -t fettle .        takes them from bin/
#   ... --build-arg BASE=scratch                                    needs no registry
ARG BASE=gcr.io/distroless/static:nonroot
ARG GO_IMAGE=golang:1.26

FROM ${GO_IMAGE} AS build
ARG VERSION=devel
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build VERSION=${VERSION}

FROM ${BASE} AS base
USER 65532:65532
ENTRYPOINT ["/manager"]

FROM base AS prebuilt
COPY bin/manager bin/nodeagent bin/fettle /

FROM base
COPY --from=build /src/bin/manager /src/bin/nodeagent /src/bin/fettle /

# Two images: manager, which contains nothing that reaches a host, and nodeagent, with the agent and
# the command. `make image` builds the same without a container engine.
#
#   docker build --target manager -t fettle-manager .
#   docker build --target nodeagent -t fettle-nodeagent .
#   make build && docker build --target prebuilt-manager -t fettle-manager .      takes bin/manager
#   ... --build-arg BASE=gcr.io/distroless/static                                  instead of scratch
ARG BASE=scratch
ARG GO_IMAGE=golang:1.26

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
ARG VERSION=devel
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build VERSION=${VERSION} GOARCH=${TARGETARCH}

FROM ${BASE} AS base-manager
USER 65532:65532
ENTRYPOINT ["/manager"]
LABEL org.opencontainers.image.title="fettle-manager" org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.source="https://github.com/fettle-dev/fettle"

FROM ${BASE} AS base-nodeagent
# The agent is root in its pod; the DaemonSet says so.
USER 0:0
ENV PATH=/
ENTRYPOINT ["/nodeagent"]
LABEL org.opencontainers.image.title="fettle-nodeagent" org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.source="https://github.com/fettle-dev/fettle"

FROM base-manager AS prebuilt-manager
COPY bin/manager /

FROM base-nodeagent AS prebuilt-nodeagent
COPY bin/nodeagent bin/fettle /

FROM base-manager AS manager
COPY --from=build /src/bin/manager /

FROM base-nodeagent AS nodeagent
COPY --from=build /src/bin/nodeagent /src/bin/fettle /

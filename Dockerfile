# The scheduler's image: `make image`, or `docker build -t phalanx .` alone. Options and what is in it: docs/image.md.
#
# Assertions stay on (no -O anywhere): a broken promise must stop a bind, not pass unseen.
# No line needs a shell: a base may have none.

ARG BASE=python:3.13-slim

FROM ${BASE} AS build
# Where packages come from when the public index is out of reach; `make image` passes on what the environment says.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG UV_DEFAULT_INDEX
ARG UV_INDEX
ARG SSL_CERT_FILE
ARG PIP_CERT
WORKDIR /build
RUN ["python3", "-m", "venv", "/uv"]
RUN --mount=type=secret,id=authorities \
    ["/uv/bin/python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "uv==0.13.7"]
# Copied, because links would lead into this stage.
ENV UV_LINK_MODE=copy UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=/opt/phalanx
RUN ["/uv/bin/uv", "venv", "--quiet", "/opt/phalanx"]
# What changes rarely first, so that its layer is kept while the sources change. By names and hashes, because the lock
# file's own addresses are those of the public index, whatever mirror was named.
COPY pyproject.toml uv.lock ./
RUN ["/uv/bin/uv", "export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--output-file", "/build/locked"]
RUN --mount=type=secret,id=authorities ["/uv/bin/uv", "pip", "sync", "--require-hashes", "/build/locked"]
COPY README.md LICENSE ./
COPY src src
RUN --mount=type=secret,id=authorities ["/uv/bin/uv", "pip", "install", "--no-deps", "."]

FROM ${BASE} AS root
COPY --from=build /opt/phalanx /opt/phalanx
RUN --mount=type=bind,source=tools/lean.py,target=/run/lean.py ["python3", "/run/lean.py", "/opt/phalanx"]
# A base that lacks a library is found out here and not in a pod.
RUN ["/opt/phalanx/bin/python", "-c", "import phalanx.kube.process"]

# One layer, so that what was taken out takes no room either.
FROM scratch
COPY --from=root / /
ENV PATH=/opt/phalanx/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title=phalanx org.opencontainers.image.licenses=Apache-2.0
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["phalanx"]
CMD ["--help"]

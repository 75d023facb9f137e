# The scheduler's image. Build it where there is an index of Python packages:  docker build -t phalanx:0.1.0 .
#
# Assertions stay on (no -O anywhere): a broken promise must stop a bind, not pass unseen.

FROM python:3.13-slim AS build
RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.7
# Compiled here, because the root of a running pod cannot be written; copied, because links would lead into this stage.
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/phalanx
WORKDIR /build
# What changes rarely first, so that its layer is kept while the sources change.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-install-project
COPY README.md LICENSE ./
COPY src src
RUN uv sync --frozen --no-dev --no-editable

FROM python:3.13-slim
COPY --from=build /opt/phalanx /opt/phalanx
ENV PATH=/opt/phalanx/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["phalanx"]
CMD ["--help"]

# The server of a run, for x86-64:
#   docker build --build-arg TORCH_INDEX=… -t discreet .
#   docker run -p 127.0.0.1:8000:8000 -v "$PWD/run:/run-folder" discreet
# TORCH_INDEX is the index of PyTorch's CPU builds; PyTorch's installation page names it (Linux, pip, CPU).
# To pin the base image, too: docker pull python:3.11-slim, and write the digest that it prints behind the name below
# (python:3.11-slim@sha256:…).
FROM python:3.11-slim
ARG TORCH_INDEX

RUN useradd --create-home --uid 10001 discreet
WORKDIR /app
# Exactly these files, by their hashes. Made from constraints.txt by .ci/pin_image.py.
COPY requirements-image.txt ./
RUN pip install --no-cache-dir --require-hashes --requirement requirements-image.txt \
    --extra-index-url "${TORCH_INDEX:?the index of the CPU builds of PyTorch}"
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN pip install --no-cache-dir --no-deps --no-build-isolation '.[serve,lm,postgres]'

USER discreet
ENV OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=/tmp/numba XDG_CACHE_HOME=/tmp/cache
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"
ENTRYPOINT ["discreet", "serve", "--host", "0.0.0.0"]
CMD ["/run-folder"]

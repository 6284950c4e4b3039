# The server of a run: docker build -t discreet . && docker run -p 8000:8000 -v "$PWD/run:/run-folder" discreet
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 discreet
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve,lm]'

USER discreet
ENV OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=/tmp/numba
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"
ENTRYPOINT ["discreet", "serve", "--host", "0.0.0.0"]
CMD ["/run-folder"]

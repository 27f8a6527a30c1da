# docker build -t arcspan .                    the command line:  docker run --rm -i arcspan parse - < text.txt
# docker build -t arcspan-serve --target serve .    the server:   docker run --rm -p 8000:8000 arcspan-serve
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim AS serve
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir "$(echo /wheels/arcspan-*.whl)[serve]" && rm -r /wheels
RUN useradd --create-home arcspan
USER arcspan
EXPOSE 8000
CMD ["arcspan", "serve", "--host", "0.0.0.0", "--port", "8000"]

FROM python:3.12-slim AS base
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir /wheels/arcspan-*.whl && rm -r /wheels
RUN useradd --create-home arcspan
USER arcspan
ENTRYPOINT ["arcspan"]
CMD ["--help"]

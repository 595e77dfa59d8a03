# The tag is for people. Who builds this for others pins the digest that the tag has on that day:
# docker buildx imagetools inspect node:24-slim
ARG NODE=node:24-slim

FROM ${NODE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# The optional packages stay: esbuild's binary is one of them. None of them needs its install script.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.client.json ./
COPY dev dev
COPY src src
RUN npm run build

FROM ${NODE}
WORKDIR /app
# The bundle is all there is: package.json only says that it is made of modules.
COPY package.json LICENSE ./
COPY --from=build /src/dist dist
# In 256Mi Node makes do with so little space for new objects that a mint costs a seventh more: docs/performance.md. The entry point
# gives it at once: until the first password nothing is collected then (docs/adr/0005-cold-start.md). NODE_OPTIONS may not say that.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=8 PORT=8080
EXPOSE 8080
# By number, so that the kubelet can see that it is not root.
USER 65532:65532
ENTRYPOINT ["node", "--min-semi-space-size=8", "dist/node.js"]

// The server's one door: POST /api with a JSON object, answered by one with "ok".

/** What the server refuses, or that it does not answer: one line for the person. */
export class ServerError extends Error {}

/** The answer to a request. Throws ServerError, or AbortError where `signal` was aborted. */
export async function ask(request, signal) {
  const answer = await readAnswer(await send(request, signal));
  if (!answer.ok) throw new ServerError(answer.error ?? "the server refused without a reason");
  return answer;
}

export const wasAborted = (error) => error.name === "AbortError";

async function send(request, signal) {
  try {
    return await fetch("api", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
      signal,
    });
  } catch (error) {
    if (wasAborted(error)) throw error;
    throw new ServerError("The server does not answer: is `deltaw serve` still running?");
  }
}

async function readAnswer(response) {
  try {
    return await response.json();
  } catch (error) {
    if (wasAborted(error)) throw error;
    throw new ServerError(`The server answered with status ${response.status} and no JSON.`);
  }
}

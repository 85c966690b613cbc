/** The API's calls about the service itself. All of them throw ApiError and nothing else. */
import { ServiceStatusResponse } from "#contracts/http/service.ts";
import { request } from "./request.ts";

/** Returns what players should know of the service; needs no sign-in. */
export function readServiceStatus(signal?: AbortSignal): Promise<ServiceStatusResponse> {
  return request(ServiceStatusResponse, "/api/status", { signal });
}

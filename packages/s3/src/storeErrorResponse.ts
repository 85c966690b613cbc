/** What the object store responded to a request that it refused. */
export class StoreErrorResponse extends Error {
  readonly status: number;
  /** S3's word for the reason; undefined where it gave none, as other servers do. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, message = "") {
    super(message);
    this.name = "StoreErrorResponse";
    this.status = status;
    this.code = code;
  }
}
